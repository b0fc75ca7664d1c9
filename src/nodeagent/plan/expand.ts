import { quote } from '../../lib/quote.ts'

/** What the kernel takes as one argument or variable, in bytes. */
const LONGEST = 128 << 10

const REFERENCE = /\$(?:\$|\(([^()]*)\))/g

/**
 * Replaces `$(NAME)` by the variable's value, as the ecosystem does in commands
 * and environments: `$$(NAME)` stands for `$(NAME)`, and what is not known stays.
 * What references each other could grow without end.
 * @throws RangeError when the kernel would not take it
 */
export function expand(text: string, variables: ReadonlyMap<string, string>): string {
  let length = 0
  return text.replace(REFERENCE, (found: string, name: string | undefined) => {
    const value = name === undefined ? '$' : (variables.get(name) ?? found)
    length += value.length
    if (length > LONGEST) throw new RangeError(`${quote(text)} grows beyond ${LONGEST} bytes`)
    return value
  })
}
