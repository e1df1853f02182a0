# Works in a child process of multiprocessing. The parent has no SIGTERM handler.
import multiprocessing
import os
import signal
import sys
import time
from pathlib import Path

STATE = Path(os.environ["STATE"])


def save(_signal, _frame):
    time.sleep(float(os.environ["SAVING"]))
    (STATE / "saved").write_text("saved\n")
    sys.exit(0)


def work():
    signal.signal(signal.SIGTERM, save)
    (STATE / "up").write_text("up\n")
    while True:
        time.sleep(0.1)


if __name__ == "__main__":
    process = multiprocessing.Process(target=work)
    process.start()
    process.join()
