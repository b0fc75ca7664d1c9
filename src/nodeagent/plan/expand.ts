import { quote } from '../../lib/quote.ts'

/** The limit of the kernel for one argument or variable, in bytes; characters are counted. */
const MAX_LENGTH = 128 << 10

const REFERENCE = /\$(?:\$|\(([^()]*)\))/g

/**
 * Replaces `$(NAME)` by the variable's value, as Kubernetes does in commands
 * and environments: `$$` stands for `$`, and a reference to an unknown variable stays as it is.
 * @throws RangeError when the result is too long for the kernel: variables that use each other twice double in length
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
