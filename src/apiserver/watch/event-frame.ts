import { ownBuffer } from '../../lib/own-buffer.ts'
import type { EventType } from '../cache/change.ts'

/** One line of a watch. A recent change keeps the frames of its events, so each has its own memory. */
export function eventFrame(type: EventType | 'BOOKMARK' | 'ERROR', object: Buffer): Buffer {
  return ownBuffer(Buffer.from(`{"type":"${type}","object":`), object, LINE_END)
}

const LINE_END = Buffer.from('}\n')
