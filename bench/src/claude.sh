#!/bin/sh
# Looks to dogwatch like Claude Code: its screen, title and state file. The prompt, which is the last argument, is "play SCENE".
[ "$1" = --version ] && { echo '2.1.325 (Claude Code)'; exit; }
for scene; do :; done
scene=${scene#play }
case $scene in
  working) status='"busy"' ;;
  waiting) status='"waiting","waitingFor":"permission prompt"' ;;
  *) status='"idle"' ;;
esac
if read -r stat 2>/dev/null <"/proc/$$/stat"; then
  # shellcheck disable=SC2086 # words are wanted
  set -- ${stat##*) }
  shift 19
  mkdir -p "$HOME/.claude/sessions"
  printf '{"pid":%d,"procStart":"%s","kind":"interactive","status":%s,"statusUpdatedAt":%s000}' \
    "$$" "$1" "$status" "$(date +%s)" >"$HOME/.claude/sessions/$$.json"
fi
printf '\033]2;✳ Claude Code\007\033[?1049h\033[H\033[2J'
cat "${0%/*}/$scene.screen"
exec sleep 100000
