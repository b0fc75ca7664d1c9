/** The parser of a repeated flag: all its values, in their order. */
export function collect(value: string, before: readonly string[] | undefined): readonly string[] {
  return [...(before ?? []), value]
}
