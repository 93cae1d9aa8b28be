# For daily use. `./quickstart` and `./test` need nothing installed; these call the same things.

default: check

# Format, lint, the examples in comments and the rules of the house
check:
    cargo fmt --all
    cargo clippy --workspace --all-targets -- -D warnings
    cargo test --workspace --doc --quiet
    scripts/check-house

# Unit tests, on a tmux in memory: no lints, no server, no agents. Under a minute after a one-line change
test *args:
    cargo nextest run --workspace --locked --lib --bins {{args}}

# All tests but those of the real agents
quick *args:
    DOGWATCH_SKIP_AGENTS=1 ./test {{args}}

# All tests
ci:
    .ci/run

# The tmux-near tests on every version of tmux, as root and as an ordinary user (DOGWATCH_TMUX_SOURCES names the sources)
tmux-matrix *args:
    scripts/tmux-matrix {{args}}

# Known situations with many versions of the agents, from npm; writes the table into docs/agents.md
matrix *args:
    lab/matrix --docs {{args}}

# Arbitrary input for the readers of screens, transcripts and hooks
fuzz *args:
    fuzz/run {{args}}

# Faults, for so many minutes
torture *args:
    ./torture {{args}}

# Figures, side by side with bare tmux
bench *args:
    bench/run {{args}}

# Licences, sources and known faults of all that is linked
dependencies:
    scripts/check-dependencies
