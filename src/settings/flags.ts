import { Command, CommanderError, Option } from 'commander'
import { nearest } from '../lib/nearest.ts'
import { quote } from '../lib/quote.ts'
import type { Problem } from './answers.ts'
import type { FieldPath } from './field.ts'
import type { CommandFlags, SettingsTable } from './table.ts'

/** The parsed command line, or its first problem. */
export type FlagsResult<C, F extends CommandFlags> =
  | { readonly ok: true; readonly line: CommandLine<C, F> }
  | { readonly ok: false; readonly problem: Problem }

/**
 * Parses the arguments (without program and script); the values of settings are not decoded yet. As in
 * the programs of Kubernetes, `--a_b` is `--a-b`, `-v=4` is `-v 4`, and a boolean flag without a value is true.
 */
export function parseFlags<C, F extends CommandFlags>(
  table: SettingsTable<C, F>,
  args: readonly string[],
): FlagsResult<C, F> {
  const given: Given[] = []
  const command = buildCommand(table, (flag, text) => given.push({ flag, text }))
  try {
    command.parse(args.map(normalise), { from: 'user' })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    return { ok: false, problem: explainRefusal(table, error) }
  }
  return readGiven(table, given)
}

function buildCommand<C>(
  table: SettingsTable<C>,
  record: (flag: string, text: string) => void,
): Command {
  const command = new Command(table.program)
    .exitOverride()
    .configureOutput({ writeOut: () => {}, writeErr: () => {} })
    .allowExcessArguments(false)
    .helpOption(false)
  const add = (flag: string, shape: string) => {
    const long = flag === 'v' ? '-v, --v' : flag === 'help' ? '-h, --help' : `--${flag}`
    const option = new Option(`${long}${shape}`).preset('true')
    command.addOption(option.argParser((text) => record(flag, text)))
  }
  for (const [, field] of table.entries) {
    add(field.flag, field.type.name === 'boolean' ? ' [boolean]' : ' <value>')
  }
  for (const [flag, about] of Object.entries(table.commandFlags)) {
    add(flag, about.value === undefined ? ' [boolean]' : ' <value>')
  }
  for (const flag of table.deprecatedFlags.keys()) add(flag, ' <value>')
  for (const flag of table.ignoredFlags.keys()) add(flag, ' [value]')
  return command
}

function normalise(arg: string): string {
  if (arg.startsWith('-v=')) return `-${arg}`
  const match = /^(--[A-Za-z0-9_-]+)(=.*)?$/s.exec(arg)
  return match === null ? arg : (match[1] ?? '').replaceAll('_', '-') + (match[2] ?? '')
}

function readGiven<C, F extends CommandFlags>(
  table: SettingsTable<C, F>,
  given: readonly Given[],
): FlagsResult<C, F> {
  const wrong = wrongSwitch(table.commandFlags, given)
  if (wrong !== undefined) {
    const { flag, text } = wrong
    return {
      ok: false,
      problem: flagProblem(table, `--${flag}`, 'write nothing, true or false', text),
    }
  }
  const commands = commandValues(table.commandFlags, given)
  const paths = new Map<string, FieldPath<C>>([
    ...table.entries.map(([path, field]) => [field.flag, path] as const),
    ...[...table.deprecatedFlags].map(([flag, { path }]) => [flag, path] as const),
  ])
  const settings = given.flatMap(({ flag, text }): readonly GivenFlag<C>[] => {
    const path = paths.get(flag)
    return path === undefined ? [] : [{ path, flag, text }]
  })
  const flags = given.map(({ flag }) => flag)
  const ignored = [...new Set(flags.filter((flag) => table.ignoredFlags.has(flag)))]
  return { ok: true, line: { commands, settings, ignored } }
}

/** The value of each command flag: its text (undefined when absent or empty), all its texts, or whether the switch is on. */
export type CommandValues<F extends CommandFlags> = {
  readonly [Name in keyof F]: F[Name] extends { readonly isRepeated: true }
    ? readonly string[]
    : F[Name] extends { readonly value: string }
      ? string | undefined
      : boolean
}

/** One flag of a setting on the command line. */
export interface GivenFlag<C> {
  readonly path: FieldPath<C>
  readonly flag: string
  readonly text: string
}

/** The settings of a command line. */
export interface GivenFlags<C> {
  /** Settings in the order given; the last of a kind counts, lists add up. */
  readonly settings: readonly GivenFlag<C>[]
  /** Accepted flags without effect, each once. */
  readonly ignored: readonly string[]
}

/** The result of parsing a command line. */
export interface CommandLine<C, F extends CommandFlags> extends GivenFlags<C> {
  readonly commands: CommandValues<F>
}

/** A flag as it was given, before it is matched with a setting. */
interface Given {
  readonly flag: string
  readonly text: string
}

const SWITCH_VALUES: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['1', true],
  ['false', false],
  ['0', false],
])

/** The problem for an error of the argument parser. */
function explainRefusal<C>(table: SettingsTable<C>, error: CommanderError): Problem {
  const named = /'([^']*)'/.exec(error.message)?.[1] ?? ''
  if (error.code === 'commander.unknownOption') {
    const flag = named.split('=')[0] ?? ''
    const meant = nearest(flag.replace(/^-+/, ''), allFlags(table))
    const advice = meant === undefined ? 'see --help for all flags' : `did you mean --${meant}?`
    return flagProblem(table, flag, `unknown flag; ${advice}`)
  }
  if (error.code === 'commander.optionMissingArgument') {
    return flagProblem(table, named.split(' ').at(-2) ?? named, 'needs a value')
  }
  const message = `${error.message.replace(/^error: /, '')} Every flag starts with --.`
  return flagProblem(table, '', message)
}

/** A problem of a flag, or of its value `text`; `field` is the flag with its dashes. */
export function flagProblem<C>(
  { codes }: SettingsTable<C>,
  field: string,
  message: string,
  text?: string,
): Problem {
  const value = text === undefined ? undefined : quote(text)
  return { code: codes.flag, at: undefined, field, value, message }
}

function allFlags<C>({ entries, commandFlags, deprecatedFlags }: SettingsTable<C>): string[] {
  const fields = entries.map(([, field]) => field.flag)
  return [...fields, ...Object.keys(commandFlags), ...deprecatedFlags.keys()]
}

/** The flags that are no setting: of each the last value, or all of one that is repeated. An empty text counts as not given. */
function commandValues<F extends CommandFlags>(
  flags: F,
  given: readonly Given[],
): CommandValues<F> {
  const texts = lastTexts(given)
  const values = Object.entries(flags).map(([flag, { value, isRepeated }]) => {
    if (isRepeated) return [flag, given.filter((one) => one.flag === flag).map((one) => one.text)]
    const text = texts.get(flag) ?? ''
    return [flag, value === undefined ? isOn(text) === true : text || undefined]
  })
  return Object.fromEntries(values) as CommandValues<F>
}

/** The first switch whose last value is neither on nor off. */
function wrongSwitch(flags: CommandFlags, given: readonly Given[]): Given | undefined {
  const switches = Object.keys(flags).filter((flag) => flags[flag]?.value === undefined)
  return [...lastTexts(given)]
    .map(([flag, text]) => ({ flag, text }))
    .find(({ flag, text }) => switches.includes(flag) && isOn(text) === undefined)
}

function lastTexts(given: readonly Given[]): ReadonlyMap<string, string> {
  return new Map(given.map(({ flag, text }) => [flag, text]))
}

function isOn(text: string): boolean | undefined {
  return SWITCH_VALUES.get(text.toLowerCase())
}
