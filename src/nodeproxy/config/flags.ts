import { parseDuration } from '../../lib/duration.ts'
import { quote } from '../../lib/quote.ts'
import * as flags from '../../settings/flags.ts'
import type { Problem } from '../../settings/problem.ts'
import type { CommandLine } from './command-line.ts'
import { type NodeProxyTable, SETTINGS_TABLE } from './settings-table.ts'

/** The parsed command line, or its first problem. */
export type FlagsResult =
  | { readonly ok: true; readonly line: CommandLine }
  | { readonly ok: false; readonly problem: Problem }

/** Splits the daemon's arguments (without program and script) into commands and values. */
export function parseFlags(
  args: readonly string[],
  table: NodeProxyTable = SETTINGS_TABLE,
): FlagsResult {
  const parsed = flags.parseFlags(table, args)
  if (!parsed.ok) return parsed
  const { commands, settings, ignored } = parsed.line
  const { 'write-config-to': writeConfigTo, 'init-only': initOnly, wait: text, ...named } = commands
  const wait = text === undefined ? undefined : parseDuration(text)
  if (text !== undefined && wait === undefined) return { ok: false, problem: noDuration(text) }
  return { ok: true, line: { ...named, writeConfigTo, initOnly, wait, settings, ignored } }
}

function noDuration(text: string): Problem {
  const message = 'write a duration such as 30s or 2m'
  return {
    ...{ code: SETTINGS_TABLE.codes.flag, at: undefined, field: '--wait', message },
    value: quote(text),
  }
}
