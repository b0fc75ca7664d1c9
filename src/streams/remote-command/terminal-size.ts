import { isJsonObject, type Json } from '../../lib/json.ts'
import type { TerminalSize } from '../node-streams.ts'

const MAX_SIZE = 0xffff

/** Parses a message of the resize stream, such as `{"Width":80,"Height":24}`; undefined: it is invalid. */
export function readTerminalSize(message: Buffer): TerminalSize | undefined {
  let parsed: Json
  try {
    parsed = JSON.parse(message.toString()) as Json
  } catch {
    return undefined
  }
  if (!isJsonObject(parsed)) return undefined
  const [width, height] = [parsed['Width'], parsed['Height']]
  return isSize(width) && isSize(height) ? { width, height } : undefined
}

/** The message that says so. */
export function terminalSizeMessage({ width, height }: TerminalSize): Buffer {
  return Buffer.from(JSON.stringify({ Width: width, Height: height }))
}

function isSize(value: Json | undefined): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value > 0 && value <= MAX_SIZE
}
