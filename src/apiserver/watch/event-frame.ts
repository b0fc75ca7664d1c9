import { ownBuffer } from '../../lib/own-buffer.ts'
import type { EventType } from '../cache/change.ts'

/** One line of a watch. It is copied to its own memory, because recent changes keep the frames of their events. */
export function eventFrame(type: EventType | 'BOOKMARK' | 'ERROR', object: Buffer): Buffer {
  return ownBuffer(Buffer.from(`{"type":"${type}","object":`), object, LINE_END)
}

const LINE_END = Buffer.from('}\n')
