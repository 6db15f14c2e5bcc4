# zsh_tab.zsh SCRIPT LINE: an interactive zsh in a pseudo-terminal reads SCRIPT; LINE is typed and a tab after it.
# Prints the line as it then stands, without the space that zsh adds behind a word and takes away again.
zmodload zsh/zpty
zpty shell 'TERM=dumb zsh -f -i'
zpty -w shell "PS1=; source ${(q)1}; bindkey '^I' complete-word
show() { print -r -- \"<<\$BUFFER>>\"; BUFFER=; }; zle -N show; bindkey '^X' show; print re''ady"
zpty -r -m shell out '*ready*' || exit 1
zpty -w -n shell "$2"$'\t\x18'
zpty -r -m shell out '*<<*>>*' || exit 1
print -r -- ${${${out##*<<}%%>>*}% }
zpty -d shell
