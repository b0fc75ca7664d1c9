import { parseDuration } from '../../lib/duration.ts'
import type { Problem } from '../../settings/answers.ts'
import * as flags from '../../settings/flags.ts'
import type { CommandLine } from './command-line.ts'
import { type NodeProxyTable, SETTINGS_TABLE } from './settings-table.ts'

/** The command line, or the first problem with it. */
export type FlagsResult =
  | { readonly ok: true; readonly line: CommandLine }
  | { readonly ok: false; readonly problem: Problem }

/** Parses the daemon's arguments (without program and script). The values of settings stay unchecked text. */
export function parseFlags(
  args: readonly string[],
  table: NodeProxyTable = SETTINGS_TABLE,
): FlagsResult {
  const parsed = flags.parseFlags(table, args)
  if (!parsed.ok) return parsed
  const { commands, settings, ignored } = parsed.line
  const { 'write-config-to': writeConfigTo, 'init-only': initOnly, wait: text, ...named } = commands
  const wait = text === undefined ? undefined : parseDuration(text)
  if (text !== undefined && wait === undefined) {
    const remedy = 'write a duration such as 30s or 2m'
    return { ok: false, problem: flags.flagProblem(table, '--wait', remedy, text) }
  }
  return { ok: true, line: { ...named, writeConfigTo, initOnly, wait, settings, ignored } }
}
