import { quote } from '../../lib/quote.ts'

/** What the kernel takes as one argument or variable, in bytes. */
const MAX_LENGTH = 128 << 10

const REFERENCE = /\$(?:\$|\(([^()]*)\))/g

/**
 * Replaces `$(NAME)` by the variable's value, as Kubernetes does in commands
 * and environments: `$$(NAME)` stands for `$(NAME)`, and what is not known stays.
 * What references each other could grow without end.
 * @throws RangeError when the kernel would not take it
 */
export function expand(text: string, variables: ReadonlyMap<string, string>): string {
  let length = 0
  return text.replace(REFERENCE, (found: string, name: string | undefined) => {
    const value = name === undefined ? '$' : (variables.get(name) ?? found)
    length += value.length
    if (length > MAX_LENGTH) throw new RangeError(`${quote(text)} grows beyond ${MAX_LENGTH} bytes`)
    return value
  })
}
