"""Runs a command with a real pseudo-terminal as its stdout, its stderr or both.

Usage: terminal.py stdout|stderr|both COMMAND [ARGUMENT...]

What the command writes to the terminal is passed on, byte for byte, to this program's own stdout or stderr (stdout if
both); the rest goes where this program's goes. The variable TERMINAL_COLUMNS sets the width of the terminal, which has
24 rows then; without it the terminal does not say how large it is.
"""

import fcntl
import os
import struct
import subprocess
import sys
import termios

which, command = sys.argv[1], sys.argv[2:]
master, slave = os.openpty()
columns = os.environ.get("TERMINAL_COLUMNS")
if columns:
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, int(columns), 0, 0))
child = subprocess.Popen(
    command,
    stdout=slave if which != "stderr" else None,
    stderr=slave if which != "stdout" else None,
)
os.close(slave)
out = sys.stderr.buffer if which == "stderr" else sys.stdout.buffer
while True:
    try:
        part = os.read(master, 65536)
    except OSError:
        # Linux says EIO when the last writer is gone.
        break
    if not part:
        break
    out.write(part)
out.flush()
sys.exit(child.wait())
