/** An object or array that the scan is inside of. */
interface Frame {
  readonly path: string
  /** Names so far; undefined in an array. */
  readonly names: Set<string> | undefined
  /** Of the member or element that is being read. */
  at: string
  /** Whether the next string is a name. */
  expectsName: boolean
  index: number
}

/**
 * The paths of names that come twice in one object of a JSON text, which must
 * be valid: parsers keep the last value and drop the earlier ones silently.
 */
export function duplicateFields(text: string): readonly string[] {
  const found: string[] = []
  const frames: Frame[] = []
  for (let index = 0; index < text.length; index++) {
    const frame = frames.at(-1)
    const character = text[index]
    if (character === '"') {
      const end = endOfString(text, index)
      if (frame?.expectsName === true) readName(frame, text.slice(index, end + 1), found)
      index = end
    } else if (character === '{' || character === '[') {
      frames.push(openFrame(frame?.at ?? '', character === '{'))
    } else if (character === '}' || character === ']') frames.pop()
    else if (character === ',' && frame !== undefined) nextMember(frame)
  }
  return found
}

function openFrame(path: string, isObject: boolean): Frame {
  const names = isObject ? new Set<string>() : undefined
  return { path, names, at: isObject ? path : `${path}[0]`, expectsName: isObject, index: 0 }
}

function nextMember(frame: Frame): void {
  if (frame.names === undefined) frame.at = `${frame.path}[${++frame.index}]`
  else frame.expectsName = true
}

function readName(frame: Frame, quoted: string, found: string[]): void {
  const name = JSON.parse(quoted) as string
  frame.at = frame.path === '' ? name : `${frame.path}.${name}`
  frame.expectsName = false
  if (frame.names?.has(name) === true) found.push(frame.at)
  frame.names?.add(name)
}

function endOfString(text: string, start: number): number {
  let index = start + 1
  while (index < text.length && text[index] !== '"') index += text[index] === '\\' ? 2 : 1
  return index
}
