import { quote } from '../lib/quote.ts'
import type { Problem } from './answers.ts'
import { type ConfigurationFile, readConfigurationFile } from './configuration-file.ts'
import type { FieldPath, Setting, Settings } from './field.ts'
import { flagProblem, type GivenFlag, type GivenFlags } from './flags.ts'
import { completeConfiguration, originOf, valueAt } from './settings.ts'
import type { SettingsTable } from './table.ts'
import { type Decoded, refuse } from './value-type.ts'

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

/** The settings of a command line and of the file that its `--config` names. @throws `codes.unreadable` */
export async function loadSettings<C>(
  table: SettingsTable<C>,
  line: GivenFlags<C> & { readonly commands: { readonly config: string | undefined } },
): Promise<LoadResult<C>> {
  const path = line.commands.config
  const file = path === undefined ? undefined : await readConfigurationFile(path, table.codes)
  return loadConfiguration(table, file, line)
}

/** Composes the configuration from defaults, file and flags; later ones take precedence. */
export async function loadConfiguration<C>(
  table: SettingsTable<C>,
  file: ConfigurationFile | undefined,
  line: GivenFlags<C>,
): Promise<LoadResult<C>> {
  const fromFile = file && (await decodeWithYaml(table, file))
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
async function decodeWithYaml<C>(table: SettingsTable<C>, file: ConfigurationFile) {
  const { decodeFile } = await import('./decode-file.ts')
  return decodeFile(table, file)
}

/** Every conflict of a configuration, at the place of a value that takes part in it. */
function checkRules<C>(
  table: SettingsTable<C>,
  config: C,
  settings: Settings<C>,
): readonly Problem[] {
  return table.rules
    .map((rule) => rule(config))
    .filter((conflict) => conflict !== undefined)
    .map(({ paths, message }) => {
      const path = paths.find((candidate) => settings.has(candidate)) ?? paths[0]
      const origin = originOf(settings, path)
      const type = table.byPath.get(path)?.type
      return {
        code: table.codes.conflict,
        at: origin.from === 'file' ? origin.at : undefined,
        field: origin.from === 'flag' ? `--${origin.flag}` : path,
        value: quote(type?.encode(valueAt(config, path))),
        message,
      }
    })
}

/**
 * Decodes the flags of settings. The values of a repeated list flag are concatenated; of any other repeated
 * flag the last one counts. A deprecated flag counts only without its replacement.
 */
function decodeFlags<C>(table: SettingsTable<C>, line: GivenFlags<C>) {
  const settings = new Map<FieldPath<C>, Setting>()
  const problems: Problem[] = []
  const warnings: Problem[] = []
  for (const given of effective(table, line.settings)) {
    const { path, flag, text } = given
    const decoded = decode(table, given, settings)
    if (decoded.ok) {
      settings.set(path, { value: decoded.value, origin: { from: 'flag', flag } })
      const { warning } = decoded
      if (warning !== undefined) warnings.push(flagProblem(table, `--${flag}`, warning))
    } else {
      problems.push(flagProblem(table, `--${flag}${decoded.part ?? ''}`, decoded.remedy, text))
    }
    if (table.deprecatedFlags.has(flag)) {
      const instead = table.byPath.get(path)?.flag
      warnings.push(flagProblem(table, `--${flag}`, `deprecated; use --${instead}`))
    }
  }
  for (const flag of line.ignored) {
    const reason = table.ignoredFlags.get(flag) ?? 'unused'
    warnings.push(flagProblem(table, `--${flag}`, `ignored: ${reason}`))
  }
  return { settings, problems, warnings }
}

/** The one flag that counts for each setting, with the values of list flags concatenated. */
function effective<C>(
  { byPath, deprecatedFlags }: SettingsTable<C>,
  flags: readonly GivenFlag<C>[],
): readonly GivenFlag<C>[] {
  const found = new Map<FieldPath<C>, GivenFlag<C>>()
  for (const given of flags) {
    const before = found.get(given.path)
    const isList = byPath.get(given.path)?.type.isList === true
    if (before === undefined) found.set(given.path, given)
    else if (isList && before.text !== '') {
      found.set(given.path, { ...given, text: `${before.text},${given.text}` })
    } else if (!deprecatedFlags.has(given.flag) || deprecatedFlags.has(before.flag)) {
      found.set(given.path, given)
    }
  }
  return [...found.values()]
}

function decode<C>(
  { byPath, deprecatedFlags }: SettingsTable<C>,
  { path, flag, text }: GivenFlag<C>,
  settings: Settings<C>,
): Decoded<unknown> {
  const type = byPath.get(path)?.type
  if (type === undefined) return refuse('unknown setting')
  const translated = deprecatedFlags.get(flag)?.translate(text, settings)
  if (translated?.ok === false) return translated
  return type.fromFlag(translated?.value ?? text)
}
