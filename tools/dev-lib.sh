# What ./dev is made of. Quiet when fine; a log file's path and its last lines when not.

export CCACHE_SLOPPINESS=pch_defines,time_macros
export CCACHE_BASEDIR=$PWD
export CCACHE_NOHASHDIR=1

packages() { sed 's/#.*//' packages.txt | awk 'NF {print $1}'; }

ensure_packages() {
  local missing=() name
  for name in $(packages); do
    dpkg-query -W -f='${Status}' "$name" 2>/dev/null | grep -q 'install ok installed' || missing+=("$name")
  done
  [ ${#missing[@]} -eq 0 ] && return 0
  echo "installing: ${missing[*]}"
  local sudo=
  [ "$(id -u)" -eq 0 ] || sudo=sudo
  quietly deps bash -c "$sudo apt-get update -qq && DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y --no-install-recommends ${missing[*]}"
}

# Runs a command with its output in build/log/NAME.log; shows the end of it if the command fails.
quietly() {
  local name=$1 log=build/log/$1.log
  shift
  mkdir -p build/log
  if ! "$@" >"$log" 2>&1; then
    tail -n 60 "$log" >&2
    echo "failed: $name (all of it: $log)" >&2
    return 1
  fi
}

build() {
  local preset=$1
  shift
  local started=$SECONDS
  if [ ! -f "build/$preset/build.ninja" ]; then quietly "configure-$preset" cmake --preset "$preset"; fi
  mkdir -p build/log
  # Ninja's own progress line when somebody watches; silence otherwise.
  if [ -t 1 ]; then
    cmake --build --preset "$preset" "$@"
  else
    quietly "build-$preset" cmake --build --preset "$preset" "$@"
  fi
  echo "built $preset in $((SECONDS - started)) s"
}

run_tests() {
  local preset=${SEMEL_PRESET:-dev}
  build "$preset"
  ctest --test-dir "build/$preset" --output-on-failure --progress "$@"
}

sources() { git ls-files -co --exclude-standard -- 'include/*.h' 'src/*.h' 'src/*.cc' 'tests/*.h' 'tests/*.cc' 'bench/*.cc' 'bench/*.h' 'examples/*.cc'; }

run_checks() {
  local failed=0
  echo "format"
  sources | xargs -r clang-format-19 --dry-run --Werror || failed=1
  echo "lint"
  tools/tidy . || failed=1
  echo "clang-tidy"
  build dev
  git ls-files -co --exclude-standard -- 'src/*.cc' |
    xargs -r -P "$(nproc)" -n 4 clang-tidy-19 -p build/dev --quiet 2>build/log/clang-tidy.err || failed=1
  [ "$failed" -eq 0 ] || { echo "check failed" >&2; return 1; }
  echo "check passed"
}

run_bench() { build release; bench/run "$@"; }

run_fuzz() {
  local seconds=${1:-60} target
  build fuzz
  for target in build/fuzz/tests/fuzz/fuzz_*; do
    [ -x "$target" ] && [ -f "$target" ] || continue
    local name=${target##*/fuzz_}
    mkdir -p "build/corpus/$name" "tests/fuzz/corpus/$name"
    echo "fuzzing $name for $seconds s"
    quietly "fuzz-$name" "$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=4096 -max_len=65536 \
      "build/corpus/$name" "tests/fuzz/corpus/$name"
    tail -n 1 "build/log/fuzz-$name.log"
  done
}

run_proof() { build dev; tests/faults/run "$@"; }
