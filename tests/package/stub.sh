#!/bin/sh
# Replaces the command's binary in the tests of the launcher.
case "$1" in
  arguments) shift; printf '<%s>\n' "$@" ;;
  exit) exit "$2" ;;
  kill) kill -s "$2" $$ ;;
  wait)
    trap 'echo "ended by SIGTERM"; exit 7' TERM
    trap 'echo "ended by SIGINT"; exit 8' INT
    echo ready
    while :; do sleep 0.05; done ;;
esac
