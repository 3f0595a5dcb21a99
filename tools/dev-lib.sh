# shellcheck shell=bash
# What ./dev is made of. Quiet when all is well; when not, the end of the log and where to find the rest of it.
# Exit status: 1 something failed, 2 wrong use, 3 the subject does not exist in this version.

die() {
  local status=$1
  shift
  echo "./dev: $*" >&2
  exit "$status"
}

not_yet() { die 3 "$1: $2 does not exist yet in this version"; }

# at_most COUNT ARGS...: refuses what would otherwise be ignored.
at_most() {
  local count=$1
  shift
  [ $# -le "$count" ] || die 2 "unexpected argument '${*: -1}'"
}

# Runs a command with its output in build/log/NAME.log; shows the end of it if the command fails. A command that takes
# long says every half minute how far it is.
quietly() {
  local name=$1 log=build/log/$1.log beat status=0
  shift
  mkdir -p build/log
  : >"$log"
  heartbeat "$name" "$log" &
  beat=$!
  # shellcheck disable=SC2064  # the id of now, not of later
  trap "kill $beat 2>/dev/null" EXIT
  "$@" >"$log" 2>&1 || status=$?
  kill "$beat" 2>/dev/null || true
  wait "$beat" 2>/dev/null || true
  trap - EXIT
  [ "$status" -eq 0 ] && return
  tail -n 60 "$log" >&2
  die 1 "$name failed (all of it: $PWD/$log)"
}

heartbeat() {
  local started=$SECONDS
  while sleep 30 >/dev/null 2>&1 && kill -0 $$ 2>/dev/null; do
    echo "$1: $((SECONDS - started)) s, at: $(tail -n 1 "$2" | cut -c 1-100)"
  done
}

# packages [GROUP...]: the names in these groups of packages.txt; in all of them if none is given.
packages() {
  awk -v wanted=" $* " '{ sub(/#.*/, "") }
    /^\[/ { group = $1; gsub(/[][]/, "", group); next }
    NF && (wanted == "  " || index(wanted, " " group " ")) { print $1 }' packages.txt
}

# ensure_packages [GROUP...]: installs what is missing of them.
ensure_packages() {
  if ! command -v dpkg-query >/dev/null; then
    echo "./dev: not a Debian system; packages.txt lists what has to be installed" >&2
    return
  fi
  local missing
  missing=$(comm -23 <(packages "$@" | sort -u) \
    <(packages "$@" | xargs dpkg-query -W -f='${db:Status-Status} ${Package}\n' 2>/dev/null | sed -n 's/^installed //p' | sort -u))
  [ -n "$missing" ] || return 0
  missing=$(echo "$missing" | tr '\n' ' ')
  local as_root=(env DEBIAN_FRONTEND=noninteractive)
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || die 1 "missing packages; as root: apt-get install $missing"
    sudo true || die 1 "missing packages; as root: apt-get install $missing"
    as_root=(sudo "${as_root[@]}")
  fi
  echo "installing: $missing"
  quietly apt-update "${as_root[@]}" apt-get update
  # shellcheck disable=SC2086  # a list of names
  quietly apt-install "${as_root[@]}" tools/apt-install $missing
}

# The groups of packages that a preset is built with.
groups_of() {
  case $1 in
    release | library) echo build ;;
    *) echo build test ;;
  esac
}

# build PRESET [ARGS to cmake --build]
build() {
  local preset=$1 started=$SECONDS
  shift
  case $preset in
    dev | asan | tsan | release | library | fuzz) ;;
    *) die 2 "no preset '$preset': dev, asan, tsan, release, library or fuzz" ;;
  esac
  local configured=build/$preset/configured
  if [ ! "$configured" -nt CMakePresets.json ] || [ ! -f "build/$preset/build.ninja" ]; then
    quietly "configure-$preset" cmake --preset "$preset"
    touch "$configured"
  fi
  if [ -t 1 ]; then
    cmake --build --preset "$preset" "$@" || die 1 "the build failed"
  else
    quietly "build-$preset" cmake --build --preset "$preset" "$@"
  fi
  echo "built $preset in $((SECONDS - started)) s"
}

run_tests() {
  local preset=${SEMEL_PRESET:-dev} progress=()
  case $preset in
    release | library | fuzz) die 2 "the $preset preset builds no tests" ;;
  esac
  build "$preset"
  [ -t 1 ] && progress=(--progress)
  # No test at all is a mistake in ARGS, not a success.
  ctest --test-dir "build/$preset" --output-on-failure --no-tests=error --no-label-summary -j "$(nproc)" \
    "${progress[@]}" "$@" || die 1 "tests failed"
}

# The C++ files of the tree: tracked or new, not ignored.
sources() {
  local folders=(include src tests bench examples)
  { git ls-files -co --exclude-standard -- "${folders[@]}" 2>/dev/null || find "${folders[@]}" -type f; } |
    grep -E '\.(h|cc)$' | while read -r file; do [ ! -f "$file" ] || echo "$file"; done
}

run_checks() {
  local failed=()
  echo "format"
  sources | xargs clang-format-19 --dry-run --Werror || failed+=(format)
  echo "lint"
  tools/tidy . || failed+=(lint)
  echo "clang-tidy"
  build dev  # its deps log and precompiled headers are what clang-tidy reads
  tools/tidy-cc build/dev || failed+=(clang-tidy)
  [ ${#failed[@]} -eq 0 ] || die 1 "check failed: ${failed[*]}"
  echo "check passed"
}

run_bench() {
  [ -x bench/run ] || not_yet bench "bench/run"
  ensure_packages build run bench
  build release
  bench/run "$@"
}

# What the release build is optimised by. To be made anew when much of a request's way through the code has changed.
run_profile() {
  at_most 0 "$@"
  ensure_packages build test bench
  build release --target semel_counting
  bench/profile build/release/semel_counting cmake/semel.profdata
}

run_proof() {
  ensure_packages build run test bench
  if [ "${1:-}" = library ]; then
    shift
    build dev
    tests/recipes/run "$@"
  else
    build dev --target semel_cli fault_driver fault_hammer wall_clock power_cut tamper proof_load proof_origin
    tests/proof/run "$@"
  fi
}

# What people install: packaging/make says what that is. --check also installs it, in a chroot, as root.
run_package() {
  local out=build/package library=build/package-library check=''
  if [ "${1:-}" = --check ]; then
    check=1
    shift
  fi
  at_most 0 "$@"
  ensure_packages build package
  build release --target semel_cli semel_manual
  # A tree of its own: its files go to other folders than those of `./dev build library`.
  quietly configure-library cmake --preset library -B "$library" \
    "-DCMAKE_INSTALL_LIBDIR=lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)"
  quietly build-library cmake --build "$library"
  quietly package packaging/make build/release "$library" "$out"
  if [ -n "$check" ]; then
    check_package library "$out"
    check_package story "$out"
    check_package unit "$out"
    check_package image "$out"
  fi
  echo "in $out:"
  (cd "$out" && ls -- *.deb *.tar.gz *.json SHA256SUMS container)
}

# check_package PROGRAM OUT: 77 is a program that cannot run here, and says why.
check_package() {
  local status=0
  python3 -B "tests/package/$1.py" "$2" build/chroot || status=$?
  [ "$status" -eq 0 ] || [ "$status" -eq 77 ] || die 1 "the package does not hold: $1"
}

run_fuzz() {
  local seconds=$1 target found=0
  [[ $seconds =~ ^[1-9][0-9]*$ ]] || die 2 "fuzz takes a number of seconds, not '$seconds'"
  [ -f tests/fuzz/CMakeLists.txt ] || not_yet fuzz "tests/fuzz"
  ensure_packages build test
  build fuzz
  for target in build/fuzz/tests/fuzz/fuzz_*; do
    [ -x "$target" ] && [ -f "$target" ] || continue
    found=1
    local name=${target##*/fuzz_}
    mkdir -p "build/corpus/$name" "tests/fuzz/corpus/$name"
    echo "fuzzing $name for $seconds s"
    quietly "fuzz-$name" "$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=4096 -max_len=65536 \
      "build/corpus/$name" "tests/fuzz/corpus/$name"
    tail -n 1 "build/log/fuzz-$name.log"
  done
  [ "$found" -eq 1 ] || die 1 "the build made no fuzz target"
}
