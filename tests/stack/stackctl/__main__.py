"""Command line of the local AWS stack."""
import argparse
import shlex
import subprocess
import sys
from pathlib import Path

from . import deploy, install, probe, services
from .settings import ROOT, STATE, Problem, read_env

DESCRIPTION = """Runs everything that Lockstep needs of AWS on this machine: AWS's DynamoDB Local, real containers,
and an emulator of Lambda, Step Functions, ECS, EventBridge Scheduler and CloudFormation. The known
differences of the emulator from AWS are corrected."""
VARIABLES = """environment:
  LOCKSTEP_CACHE           folder of the pinned tools (default ~/.cache/lockstep)
  LOCKSTEP_STATE           folder of this stack's state (default target/stack); each stack needs its own folder
  LOCKSTEP_PORT            port of the emulator (default: a free port)
  LOCKSTACK_ENVIRONMENTS   greatest number of environments of functions (default 40)
  LOCKSTEP_DYNAMODB_PORT   port of DynamoDB Local (default: a free port)
  DOCKER_HOST              container engine, unix:// only (default: the system's, or one that `up` starts)"""


def parse():
    parser = argparse.ArgumentParser(prog="lockstack", description=DESCRIPTION, epilog=VARIABLES,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parser("install", help="install the pinned tools, unless they are installed already")
    up = commands.add_parser("up", help="start the stack and wait until it answers")
    up.add_argument("--no-iam", action="store_true", help="do not enforce the roles of functions")
    up.add_argument("--table-iam", action="store_true",
                    help="send the functions' DynamoDB calls through the emulator, which checks their roles")
    up.add_argument("--bind", default="127.0.0.1",
                    help="address of the emulator; 0.0.0.0 lets containers call it (default %(default)s)")
    up.add_argument("--stock", action="store_true", help="run the emulator without corrections")
    commands.add_parser("down", help="stop all that `up` started; safe to call twice")
    commands.add_parser("status", help="tell what is running; exits with 0 if the whole stack is up")
    env = commands.add_parser("env", help="print the variables that clients of the stack need")
    env.add_argument("--export", action="store_true", help="print lines for a shell's eval")
    logs = commands.add_parser("logs", help="print the end of the logs")
    logs.add_argument("part", nargs="?", choices=("emulator", "dynamodb"), default="emulator")
    logs.add_argument("-n", "--lines", type=int, default=100)
    logs.add_argument("-f", "--follow", action="store_true")
    put = commands.add_parser("deploy", help="deploy infra/template.yaml and the fixture with sam, and write outputs.json")
    put.add_argument("--parameter", action="append", default=[], metavar="NAME=VALUE",
                     help="a parameter of infra/template.yaml")
    put.add_argument("--version", type=Path, default=ROOT, metavar="FOLDER",
                     help="a version that tests/upgrade/build has built (default: this one)")
    probes = commands.add_parser("probe", help="test that the corrections make the emulator behave like AWS")
    probes.add_argument("--stock", action="store_true",
                        help="run the probes on an emulator without corrections, and tell which corrections it no longer needs")
    probes.add_argument("names", nargs="*", help="probe modules, for example callbacks (default: all)")
    every = commands.add_parser("undefined", help="evaluate every expression of every definition with random inputs and answers")
    every.add_argument("weaver", help="path of the `lockstep` command, which weaves definitions")
    every.add_argument("runs", nargs="?", help="executions of each definition; exclusive-run gets seven times as many")
    return parser.parse_args()


def main():
    options = parse()
    if options.command == "install":
        install.run()
    elif options.command == "up":
        services.up(options.stock, not options.no_iam, options.table_iam, options.bind)
    elif options.command == "down":
        services.down()
    elif options.command == "status":
        return 0 if services.status() else 1
    elif options.command == "env":
        for name, value in read_env().items():
            print(f"export {name}={shlex.quote(value)}" if options.export else f"{name}={value}")
    elif options.command == "logs":
        follow = ["-F"] if options.follow else []
        return subprocess.run(["tail", *follow, "-n", str(options.lines), STATE / f"{options.part}.log"]).returncode
    elif options.command == "deploy":
        deploy.run([pair.split("=", 1) for pair in options.parameter], options.version.resolve())
    elif options.command == "probe":
        return probe.run(options.stock, options.names)
    elif options.command == "undefined":
        return probe.run_undefined([options.weaver, *([options.runs] if options.runs else [])])
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Problem as problem:
        print(f"lockstack: {problem}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
