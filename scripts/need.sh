# Sourced by quickstart and test: makes sure that programs are there, installing what is missing if it may.

say() { printf '\033[1m==>\033[0m %s\n' "$*" >&2; }
die() { printf '\033[31merror:\033[0m %s\n' "$*" >&2; exit 1; }

# as_root COMMAND...: runs it as root, or fails quietly if that takes a password.
as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"
  elif command -v sudo >/dev/null 2>&1; then sudo -n "$@" 2>/dev/null
  else return 1
  fi
}

# need PROGRAM DEBIAN-PACKAGE BREW-PACKAGE
need() {
  command -v "$1" >/dev/null 2>&1 && return 0
  say "installing $1"
  if command -v apt-get >/dev/null 2>&1; then
    as_root apt-get update -qq >/dev/null || true
    # Another installation may be under way, and what it interrupted is finished first.
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 install -y -qq "$2" >/dev/null \
      || as_root env DEBIAN_FRONTEND=noninteractive sh -c "dpkg --configure -a && apt-get -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 -f install -y -qq $2" >/dev/null \
      || die "$1 is missing and could not be installed; run: sudo apt-get install $2"
  elif command -v dnf >/dev/null 2>&1; then
    as_root dnf install -y -q "$2" || die "$1 is missing; run: sudo dnf install $2"
  elif command -v brew >/dev/null 2>&1; then
    brew install "$3" || die "$1 is missing; run: brew install $3"
  else
    die "$1 is missing; install it with your package manager and run this again"
  fi
  command -v "$1" >/dev/null 2>&1 || die "$1 was installed, but is not on the path"
}

need_rust() {
  command -v cargo >/dev/null 2>&1 || [ ! -x "$HOME/.cargo/bin/cargo" ] || PATH=$HOME/.cargo/bin:$PATH
  command -v cargo >/dev/null 2>&1 || die "Rust is missing; see https://rustup.rs"
}
