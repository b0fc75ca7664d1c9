import { afterAll, beforeAll, beforeEach } from 'vitest'
import { Cluster } from './cluster.ts'
import type { ControlPlane } from './control-plane.ts'
import { clusterFiles } from './surroundings.ts'

const START_MS = 10 * 60_000

/** A cluster for the tests of one file. A failed test prints what an operator would look at. */
export function useCluster(
  nodes: number,
  prepare: (cluster: Cluster) => Promise<void> = async () => undefined,
  startPlane?: (folder: string) => Promise<ControlPlane>,
): () => Cluster {
  let cluster: Cluster | undefined
  beforeAll(async () => {
    cluster = await Cluster.start(clusterFiles(), nodes, startPlane)
    await prepare(cluster).catch(async (error: unknown) => {
      process.stderr.write(`${await cluster?.report()}\n`)
      throw error
    })
  }, START_MS)
  beforeEach(({ onTestFailed }) => {
    onTestFailed(async () => void process.stderr.write(`${await cluster?.report()}\n`))
  })
  afterAll(() => cluster?.[Symbol.asyncDispose]())
  return () => {
    if (cluster === undefined) throw new Error('the cluster is there only while tests run')
    return cluster
  }
}
