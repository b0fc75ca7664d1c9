import { afterAll, beforeAll } from 'vitest'
import type { DaemonStart } from './daemon.ts'
import { createLab, type Lab, type LabOptions } from './lab.ts'

/**
 * A lab with a running daemon for the tests of one `describe` or file. It is built before the first test, and removed
 * after the last one, also when the start failed.
 */
export function useLab(options: LabOptions & DaemonStart = {}): () => Lab {
  let lab: Lab | undefined
  beforeAll(async () => {
    lab = await createLab(options)
    await lab.daemon.start(options)
    await lab.daemon.synced()
  })
  afterAll(async () => {
    await lab?.close()
  })
  return () => {
    if (lab === undefined) throw new Error('the lab is there only while tests run')
    return lab
  }
}
