import type { Findings } from './problem.ts'

/** One of `values`; the first one when it is absent or, with a finding, unknown. */
export function choice<T extends string>(
  value: unknown,
  values: readonly [T, ...T[]],
  { field, findings }: { readonly field: string; readonly findings: Findings },
): T {
  const found = values.find((candidate) => candidate === value)
  if (found !== undefined) return found
  if (value !== undefined && value !== null && value !== '') {
    findings.add(field, value, `must be one of ${values.join(', ')}; ${values[0]} is used`)
  }
  return values[0]
}
