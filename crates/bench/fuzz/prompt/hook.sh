#!/usr/bin/env -S bash -e
read answer
test -n "$answer"
