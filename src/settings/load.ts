import type { GivenFlags } from './command-line.ts'
import { decodeFlags } from './decode-flags.ts'
import type { FieldPath } from './field-path.ts'
import type { Problem } from './problem.ts'
import type { ConfigurationFile } from './read-file.ts'
import { checkRules } from './rules.ts'
import { completeConfiguration, type Setting, type Settings } from './settings.ts'
import type { SettingsTable } from './table.ts'

/** A checked configuration, and who set what. */
export interface LoadedConfiguration<C> {
  readonly config: C
  /** What a file or a flag set; everything else is a default. */
  readonly settings: Settings<C>
  /** Accepted, but to be reported: ignored and deprecated settings. */
  readonly warnings: readonly Problem[]
}

export type LoadResult<C> =
  | ({ readonly ok: true } & LoadedConfiguration<C>)
  | { readonly ok: false; readonly problems: readonly Problem[] }

/** Defaults, then the file, then the flags; all problems at once. */
export async function loadConfiguration<C>(
  table: SettingsTable<C>,
  file: ConfigurationFile | undefined,
  line: GivenFlags<C>,
): Promise<LoadResult<C>> {
  const fromFile = file && (await decode(table, file))
  const fromFlags = decodeFlags(table, line)
  const problems = [...(fromFile?.problems ?? []), ...fromFlags.problems]
  if (problems.length > 0) return { ok: false, problems }
  const settings = new Map<FieldPath<C>, Setting>([
    ...(fromFile?.settings ?? []),
    ...fromFlags.settings,
  ])
  const config = completeConfiguration(table, settings)
  const conflicts = checkRules(table, config, settings)
  if (conflicts.length > 0) return { ok: false, problems: conflicts }
  const warnings = [...(fromFile?.warnings ?? []), ...fromFlags.warnings]
  return { ok: true, config, settings, warnings }
}

/** The YAML parser is loaded only where there is a file. */
async function decode<C>(table: SettingsTable<C>, file: ConfigurationFile) {
  const { decodeFile } = await import('./decode-file.ts')
  return decodeFile(table, file)
}
