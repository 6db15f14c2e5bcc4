# Writes tandem_commit.h: -D source=DIR -D out=FILE. Left as it is where nothing changed, so that nothing is
# compiled again. Sources without git, as in an archive, have no commit.
cmake_minimum_required(VERSION 3.22)
execute_process(COMMAND git -C ${source} describe --always --dirty --abbrev=12 --exclude=*
  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
if(failed)
  set(commit "unknown")
endif()
file(CONFIGURE OUTPUT ${out} CONTENT "#pragma once\n#define TANDEM_COMMIT \"@commit@\"\n" @ONLY)
