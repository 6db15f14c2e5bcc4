#!/usr/bin/env bash
# run.sh BUILD: makes the Debian packages of the program and the Python module, unpacks them into an empty folder and runs what
# lies there. TANDEM_TEST_CHROOT=1, as root and with debootstrap: also installs them with apt into a fresh Debian 12, runs and
# removes them there.
set -euo pipefail
build=$1
for tool in cpack dpkg-deb dpkg-shlibdeps file; do
  command -v "$tool" >/dev/null && continue
  echo "skipped: there is no $tool (packages dpkg-dev, file)"
  exit 77
done
scratch=$(mktemp -d)
clean() {
  mountpoint -q "$scratch/debian/proc" && umount "$scratch/debian/proc"
  rm -rf --one-file-system -- "$scratch"
}
trap clean EXIT
components=tandem
[[ -d $build/python ]] && components+=";python"
[[ -e $build/lib/tandem/tandem_mpi.so ]] && components+=";mpi"
cpack --config "$build/CPackConfig.cmake" -G DEB -B "$scratch/packages" -D CPACK_COMPONENTS_ALL="$components" >"$scratch/log" ||
  { tail -n 20 "$scratch/log"; exit 1; }
packages=("$scratch"/packages/*.deb)
unset TANDEM_ROOT PYTHONPATH

# works COMMAND...: the installed program and module, run by COMMAND..., find their own data.
works() {
  "$@" tandem demo --out "$scratch_inside/demo" | grep -F 'step time' >/dev/null
  "$@" tandem describe gpu | grep -F h200_sxm >/dev/null
  [[ $components != *python* ]] ||
    "$@" python3 -c 'import tandem; assert tandem.run("resnet50", gpu="h200_sxm").step.time_us > 0; print(tandem._tandem.data_root())' |
    grep -E '/usr/share/tandem$' >/dev/null
}

# starts_once MPIRUN...: a sweep of two ranks, of which one writes and reports.
starts_once() { "$@" | grep -c '^files' | grep -x 1 >/dev/null; }

for package in "${packages[@]}"; do
  dpkg-deb --field "$package" Package Depends
  dpkg-deb --extract "$package" "$scratch/root"
done
scratch_inside=$scratch
works env PATH="$scratch/root/usr/bin:$PATH" PYTHONPATH="$scratch/root/usr/lib/python3/dist-packages"
echo "unpacked into an empty folder: the program and the module run, with their own data"
if [[ $components == *mpi* ]] && command -v mpirun >/dev/null; then
  starts_once mpirun -n 2 --oversubscribe --allow-run-as-root "$scratch/root/usr/bin/tandem" sweep lenet5 --batch 8,16 --gpu h200_sxm \
    --out "$scratch/sweep"
  echo "mpirun starts it"
fi

[[ ${TANDEM_TEST_CHROOT:-} == 1 ]] || exit 0
debian=$scratch/debian
debootstrap --variant=minbase bookworm "$debian" >"$scratch/log" || { tail -n 20 "$scratch/log"; exit 1; }
mkdir "$debian/packages"
cp -- "${packages[@]}" "$debian/packages"
chroot "$debian" sh -c 'export DEBIAN_FRONTEND=noninteractive; apt-get -q update && apt-get -q install -y --no-install-recommends /packages/*.deb' >"$scratch/log" 2>&1 ||
  { tail -n 20 "$scratch/log"; exit 1; }
scratch_inside=/tmp
works chroot "$debian"
if [[ $components == *python* ]]; then
  chroot "$debian" python3 -c 'import tandem; assert len(tandem.run("resnet50").kernels) > 9'
fi
if [[ $components == *mpi* ]]; then  # tandem-mpi brings mpirun, which looks into /proc
  mount -t proc proc "$debian/proc"
  starts_once chroot "$debian" mpirun -n 2 --oversubscribe --allow-run-as-root tandem sweep lenet5 --batch 8,16 --gpu h200_sxm --out /tmp/sweep
fi
chroot "$debian" sh -c 'apt-get -q purge -y "*tandem*" && ! command -v tandem && ! find /usr -path "*tandem*" | grep .' >"$scratch/log" 2>&1 ||
  { tail -n 20 "$scratch/log"; exit 1; }
echo "installed by apt into a fresh Debian 12: ${packages[*]##*/} run; purged they leave nothing"
