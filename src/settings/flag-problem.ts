import type { CommanderError } from 'commander'
import { nearest } from '../lib/nearest.ts'
import { quote } from '../lib/quote.ts'
import type { CommandFlags, CommandValues } from './command-line.ts'
import type { Problem } from './problem.ts'
import type { SettingsTable } from './table.ts'

/** A flag as it was given, before it is matched with a setting. */
export interface Given {
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
export function explainRefusal<C>(table: SettingsTable<C>, error: CommanderError): Problem {
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

/** The problem for a switch with a value other than true or false. */
export function explainSwitch<C>(table: SettingsTable<C>, { flag, text }: Given): Problem {
  const problem = flagProblem(table, `--${flag}`, 'write nothing, true or false')
  return { ...problem, value: quote(text) }
}

/** A problem of a flag as a whole; `field` is the flag with its dashes. */
export function flagProblem<C>(
  { codes }: SettingsTable<C>,
  field: string,
  message: string,
): Problem {
  return { code: codes.flag, at: undefined, field, value: undefined, message }
}

function allFlags<C>({ entries, commandFlags, deprecatedFlags }: SettingsTable<C>): string[] {
  const fields = entries.map(([, field]) => field.flag)
  return [...fields, ...Object.keys(commandFlags), ...deprecatedFlags.keys()]
}

/** The flags that are no setting: of each the last value, or all of one that is repeated. An empty text counts as not given. */
export function commandValues<F extends CommandFlags>(
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
export function wrongSwitch(flags: CommandFlags, given: readonly Given[]): Given | undefined {
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
