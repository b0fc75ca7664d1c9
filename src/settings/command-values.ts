import type { CommandFlags, CommandValues } from './command-line.ts'

/** A flag as it was given, before it is matched with a setting. */
export interface Given {
  readonly flag: string
  readonly text: string
}

const SWITCH_VALUES: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['1', true],
  ['false', false],
  ['0', false],
])

/** The flags that are no setting: of each the last value, or all of one that is repeated. An empty text is none. */
export function commandValues<F extends CommandFlags>(
  flags: F,
  given: readonly Given[],
): CommandValues<F> {
  const texts = lastTexts(given)
  const values = Object.entries(flags).map(([flag, { value, isRepeated }]) => {
    if (isRepeated) return [flag, given.filter((one) => one.flag === flag).map((one) => one.text)]
    const text = texts.get(flag) ?? ''
    return [flag, value === undefined ? isOn(text) === true : text || undefined]
  })
  return Object.fromEntries(values) as CommandValues<F>
}

/** The first switch whose last value is neither on nor off. */
export function wrongSwitch(flags: CommandFlags, given: readonly Given[]): Given | undefined {
  const switches = Object.keys(flags).filter((flag) => flags[flag]?.value === undefined)
  return [...lastTexts(given)]
    .map(([flag, text]) => ({ flag, text }))
    .find(({ flag, text }) => switches.includes(flag) && isOn(text) === undefined)
}

function lastTexts(given: readonly Given[]): ReadonlyMap<string, string> {
  return new Map(given.map(({ flag, text }) => [flag, text]))
}

function isOn(text: string): boolean | undefined {
  return SWITCH_VALUES.get(text.toLowerCase())
}
