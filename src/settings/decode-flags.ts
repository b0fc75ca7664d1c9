import { quote } from '../lib/quote.ts'
import type { GivenFlag, GivenFlags } from './command-line.ts'
import type { FieldPath } from './field-path.ts'
import { flagProblem } from './flag-problem.ts'
import type { Problem } from './problem.ts'
import type { Setting, Settings } from './settings.ts'
import type { SettingsTable } from './table.ts'
import { type Decoded, refuse } from './value-type.ts'

/** The decoded settings of a command line. */
export interface DecodedFlags<C> {
  readonly settings: Settings<C>
  readonly problems: readonly Problem[]
  readonly warnings: readonly Problem[]
}

/**
 * Decodes the flags of settings. The values of a repeated list flag are concatenated; of any other repeated
 * flag the last one counts. A deprecated flag counts only without its replacement.
 */
export function decodeFlags<C>(table: SettingsTable<C>, line: GivenFlags<C>): DecodedFlags<C> {
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
      const problem = flagProblem(table, `--${flag}`, decoded.remedy)
      problems.push({ ...problem, value: quote(text) })
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
