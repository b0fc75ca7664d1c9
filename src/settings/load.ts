import type { GivenFlags } from './command-line.ts'
import { decodeFlags } from './decode-flags.ts'
import type { FieldPath } from './field-path.ts'
import type { Problem } from './problem.ts'
import type { ConfigurationFile } from './read-file.ts'
import { checkRules } from './rules.ts'
import { completeConfiguration, type Setting, type Settings } from './settings.ts'
import type { SettingsTable } from './table.ts'

/** A checked configuration, and the origin of its values. */
export interface LoadedConfiguration<C> {
  readonly config: C
  /** The values that the file or a flag set; all others are defaults. */
  readonly settings: Settings<C>
  /** Ignored and deprecated settings, and values that should be written otherwise; all are accepted. */
  readonly warnings: readonly Problem[]
}

/** The configuration, or all its problems. */
export type LoadResult<C> =
  | ({ readonly ok: true } & LoadedConfiguration<C>)
  | { readonly ok: false; readonly problems: readonly Problem[] }

/** Composes the configuration from defaults, file and flags; later ones take precedence. */
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

/** Loads the YAML parser, which is needed only for a file. */
async function decode<C>(table: SettingsTable<C>, file: ConfigurationFile) {
  const { decodeFile } = await import('./decode-file.ts')
  return decodeFile(table, file)
}
