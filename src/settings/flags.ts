import { Command, CommanderError, Option } from 'commander'
import type { CommandFlags, CommandLine, GivenFlag } from './command-line.ts'
import type { FieldPath } from './field-path.ts'
import {
  commandValues,
  explainRefusal,
  explainSwitch,
  type Given,
  wrongSwitch,
} from './flag-problem.ts'
import type { Problem } from './problem.ts'
import type { SettingsTable } from './table.ts'

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
  if (wrong !== undefined) return { ok: false, problem: explainSwitch(table, wrong) }
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
