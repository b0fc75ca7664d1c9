import type { AdmissionParts } from '../admission.ts'
import type { BufferPool } from './buffer-pool.ts'

/** An address at which this worker listens. */
export interface OpenDoor {
  /** Listens no more. TCP connections go on, UDP flows end: they answer from the door's socket. */
  close(): void
}

/** What all doors of a worker share. */
export interface DoorParts extends AdmissionParts {
  readonly buffers: BufferPool
  /** Milliseconds that one backend may take to accept. */
  readonly connectMs: number
}
