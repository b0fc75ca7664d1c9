const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d

/** Where the JSON object ends whose opening brace is just before `from`: behind its closing one. */
export function endOfObject(bytes: Buffer, from: number): number {
  let at = from
  for (let depth = 1; depth > 0 && at < bytes.length; ) {
    const byte = bytes[at++]
    if (byte === QUOTE) at = endOfString(bytes, at)
    else if (byte === OPEN_BRACE) depth++
    else if (byte === CLOSE_BRACE) depth--
  }
  return at
}

function endOfString(bytes: Buffer, from: number): number {
  let at = from
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1
  return at + 1
}
