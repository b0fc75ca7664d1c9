import { Command, CommanderError, Option } from 'commander'
import { nearest } from '../../lib/nearest.ts'
import {
  COMMAND_FLAGS,
  type CommandLine,
  type GivenFlag,
  PORT_FLAGS,
  type PortFlag,
} from './command-line.ts'
import { FIELD_ENTRIES } from './fields/index.ts'
import { IGNORED_FLAGS } from './ignored-fields.ts'
import { type Problem, quote } from './problem.ts'

export type FlagsResult =
  | { readonly ok: true; readonly line: CommandLine }
  | { readonly ok: false; readonly problem: Problem }

const SWITCH_VALUES: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['1', true],
  ['false', false],
  ['0', false],
])

/**
 * Splits the arguments (without program and script) into what they ask for.
 * The values of settings are not looked at yet. As usual beside Kubernetes,
 * `--a_b` is `--a-b`, `-v=4` is `-v 4`, and a boolean may stand alone.
 */
export function parseFlags(args: readonly string[]): FlagsResult {
  const given: { flag: string; text: string }[] = []
  const command = buildCommand((flag, text) => given.push({ flag, text }))
  try {
    command.parse(args.map(normalise), { from: 'user' })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    return { ok: false, problem: explain(error) }
  }
  return readGiven(given)
}

function buildCommand(record: (flag: string, text: string) => void): Command {
  const command = new Command('node-proxy')
    .exitOverride()
    .configureOutput({ writeOut: () => {}, writeErr: () => {} })
    .allowExcessArguments(false)
    .helpOption(false)
  const add = (flag: string, shape: string) => {
    const long = flag === 'v' ? '-v, --v' : flag === 'help' ? '-h, --help' : `--${flag}`
    const option = new Option(`${long}${shape}`).preset('true')
    command.addOption(option.argParser((text) => record(flag, text)))
  }
  for (const [, field] of FIELD_ENTRIES) {
    add(field.flag, field.type.name === 'boolean' ? ' [boolean]' : ' <value>')
  }
  for (const [flag, about] of Object.entries(COMMAND_FLAGS)) {
    add(flag, 'value' in about ? ' <value>' : ' [boolean]')
  }
  for (const flag of Object.keys(PORT_FLAGS)) add(flag, ' <value>')
  for (const flag of IGNORED_FLAGS.keys()) add(flag, ' [value]')
  return command
}

function normalise(arg: string): string {
  if (arg.startsWith('-v=')) return `-${arg}`
  const match = /^(--[A-Za-z0-9_-]+)(=.*)?$/s.exec(arg)
  return match === null ? arg : (match[1] ?? '').replaceAll('_', '-') + (match[2] ?? '')
}

function readGiven(given: readonly { flag: string; text: string }[]): FlagsResult {
  const paths = new Map(FIELD_ENTRIES.map(([path, field]) => [field.flag, path]))
  const settings: GivenFlag[] = []
  const own = new Map<string, string>()
  for (const { flag, text } of given) {
    const path = paths.get(flag) ?? portPath(flag)
    if (path !== undefined) settings.push({ path, flag, text })
    else if (flag in COMMAND_FLAGS) own.set(flag, text)
  }
  const wrong = [...own].find(
    ([flag, text]) => isSwitch(flag) && SWITCH_VALUES.get(text.toLowerCase()) === undefined,
  )
  if (wrong) return usage(`--${wrong[0]}`, quote(wrong[1]), 'write nothing, true or false')
  const on = (flag: string) => SWITCH_VALUES.get((own.get(flag) ?? 'false').toLowerCase()) === true
  const ignored = [
    ...new Set(given.map(({ flag }) => flag).filter((flag) => IGNORED_FLAGS.has(flag))),
  ]
  return {
    ok: true,
    line: {
      config: own.get('config') || undefined,
      writeConfigTo: own.get('write-config-to') || undefined,
      master: own.get('master') || undefined,
      cleanup: on('cleanup'),
      initOnly: on('init-only'),
      version: on('version'),
      help: on('help'),
      settings,
      ignored,
    },
  }
}

function portPath(flag: string) {
  return flag in PORT_FLAGS ? PORT_FLAGS[flag as PortFlag].path : undefined
}

function isSwitch(flag: string): boolean {
  return !('value' in COMMAND_FLAGS[flag as keyof typeof COMMAND_FLAGS])
}

function explain(error: CommanderError): Problem {
  const named = /'([^']*)'/.exec(error.message)?.[1] ?? ''
  if (error.code === 'commander.unknownOption') {
    const flag = named.split('=')[0] ?? ''
    const meant = nearest(flag.replace(/^-+/, ''), allFlags())
    const advice = meant === undefined ? 'see --help for all flags' : `did you mean --${meant}?`
    return usageProblem(flag, undefined, `unknown flag; ${advice}`)
  }
  if (error.code === 'commander.optionMissingArgument') {
    return usageProblem(named.split(' ').at(-2) ?? named, undefined, 'needs a value')
  }
  return usageProblem(
    '',
    undefined,
    `${error.message.replace(/^error: /, '')} Every flag starts with --.`,
  )
}

function allFlags(): string[] {
  const fields = FIELD_ENTRIES.map(([, field]) => field.flag)
  return [...fields, ...Object.keys(COMMAND_FLAGS), ...Object.keys(PORT_FLAGS)]
}

function usage(field: string, value: string | undefined, message: string): FlagsResult {
  return { ok: false, problem: usageProblem(field, value, message) }
}

function usageProblem(field: string, value: string | undefined, message: string): Problem {
  return { code: 'NP_NODEPROXY_FLAG', at: undefined, field, value, message }
}
