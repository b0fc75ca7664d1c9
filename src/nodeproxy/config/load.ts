import type { CommandLine } from './command-line.ts'
import type { FieldPath, NodeProxyConfiguration } from './configuration.ts'
import { decodeFlags } from './decode-flags.ts'
import type { Problem } from './problem.ts'
import { checkRules } from './rules.ts'
import { completeConfiguration, type Setting, type Settings } from './settings.ts'

/** A checked configuration, and who set what. */
export interface LoadedConfiguration {
  readonly config: NodeProxyConfiguration
  /** What a file or a flag set; everything else is a default. */
  readonly settings: Settings
  /** Accepted, but to be told: ignored and deprecated settings. */
  readonly warnings: readonly Problem[]
}

export type LoadResult =
  | ({ readonly ok: true } & LoadedConfiguration)
  | { readonly ok: false; readonly problems: readonly Problem[] }

export interface ConfigurationFile {
  /** For messages. */
  readonly name: string
  readonly text: string
}

/** Defaults, then the file, then the flags; all problems at once. */
export async function loadConfiguration(
  file: ConfigurationFile | undefined,
  line: CommandLine,
): Promise<LoadResult> {
  const fromFile = file && (await decode(file))
  const fromFlags = decodeFlags(line)
  const problems = [...(fromFile?.problems ?? []), ...fromFlags.problems]
  if (problems.length > 0) return { ok: false, problems }
  const settings = new Map<FieldPath, Setting>([
    ...(fromFile?.settings ?? []),
    ...fromFlags.settings,
  ])
  const config = completeConfiguration(settings)
  const conflicts = checkRules(config, settings)
  if (conflicts.length > 0) return { ok: false, problems: conflicts }
  const warnings = [...(fromFile?.warnings ?? []), ...fromFlags.warnings]
  return { ok: true, config, settings, warnings }
}

/** The YAML parser is loaded only where there is a file. */
async function decode(file: ConfigurationFile) {
  const { decodeFile } = await import('./decode-file.ts')
  return decodeFile(file.name, file.text)
}
