#!/usr/bin/env bash
# A plugin for tmux (TPM). It binds no key and starts nothing unless one of these options asks for it:
#
#   set -g @dogwatch_popup_key   g     # prefix g: the dashboard in a popup
#   set -g @dogwatch_next_key    n     # prefix n: the session that has waited for you longest
#   set -g @dogwatch_sidebar_key e     # prefix e: the dashboard in a pane at the left
#   set -g @dogwatch_follow      on    # keep #{@dogwatch_status}, @dogwatch_state and @dogwatch_detail current
#   set -g @dogwatch_program     dogwatch
set -euo pipefail

option() { tmux show-option -gqv "$1"; }

program=$(option @dogwatch_program)
program=${program:-dogwatch}

bind() {
  local key
  key=$(option "$1")
  if [ -n "$key" ]; then tmux bind-key "$key" run-shell -b "$program $2"; fi
}

bind @dogwatch_popup_key popup
bind @dogwatch_next_key next
bind @dogwatch_sidebar_key sidebar

# One follower for each server, whichever number of times the configuration is read again.
if [ "$(option @dogwatch_follow)" = on ]; then tmux run-shell -b "$program tmux-status --follow"; fi
