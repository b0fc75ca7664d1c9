import type { EventEmitter } from 'node:events'
import { once } from 'node:events'
import type { OutputStream } from '../usage/host.ts'

/** Writes bytes, and resolves when the stream takes more. */
export async function writeBytes(output: OutputStream, bytes: Uint8Array | string): Promise<void> {
  if (output.write(bytes) === false) await once(output as OutputStream & EventEmitter, 'drain')
}
