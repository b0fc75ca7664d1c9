import { quote } from '../lib/quote.ts'
import type { AnyField } from './field.ts'
import type { FieldPath } from './field-path.ts'
import type { Problem, ProblemCodes } from './problem.ts'
import { originOf, type Settings, valueAt } from './settings.ts'

/** Values that are valid each by itself and do not go together. */
export interface Conflict<C> {
  /** The fields whose values conflict; the message names the first that was set. */
  readonly paths: readonly [FieldPath<C>, ...FieldPath<C>[]]
  readonly message: string
}

/** Rules about several fields. */
export type Rule<C> = (config: C) => Conflict<C> | undefined

/** The parts of a settings table that its rules use. */
export interface RuledFields<C> {
  readonly rules: readonly Rule<C>[]
  readonly byPath: ReadonlyMap<string, AnyField>
  readonly codes: ProblemCodes
}

/** Every conflict of a configuration, at the place of a value that takes part in it. */
export function checkRules<C>(
  table: RuledFields<C>,
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
