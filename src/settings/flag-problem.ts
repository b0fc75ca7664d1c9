import type { CommanderError } from 'commander'
import { nearest } from '../lib/nearest.ts'
import { quote } from '../lib/quote.ts'
import type { Given } from './command-values.ts'
import type { Problem } from './problem.ts'
import type { SettingsTable } from './table.ts'

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
