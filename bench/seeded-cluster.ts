import { type Cluster, growTo, startCluster } from './cluster/cluster.ts'

/** A new API server with so many Services, of ten endpoints each unless stated. */
export async function seededCluster(size: number, endpointsEach?: number): Promise<Cluster> {
  const startedAt = performance.now()
  const cluster = await startCluster(endpointsEach)
  await growTo(cluster, size)
  const took = Math.round(performance.now() - startedAt)
  process.stderr.write(`bench: ${size} Services written in ${took} ms\n`)
  return cluster
}
