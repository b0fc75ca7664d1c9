import { type Cluster, growTo, startCluster } from './cluster/cluster.ts'

/** Starts an API server with `size` Services, by default with ten endpoints each. */
export async function seededCluster(size: number, endpointsEach?: number): Promise<Cluster> {
  const startedAt = performance.now()
  const cluster = await startCluster(endpointsEach)
  await growTo(cluster, size)
  const took = Math.round(performance.now() - startedAt)
  process.stderr.write(`bench: ${size} Services written in ${took} ms\n`)
  return cluster
}
