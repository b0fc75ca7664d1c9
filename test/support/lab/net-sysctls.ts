import type { Site } from './site.ts'

/** Settings that the kernel changes by itself. */
const VOLATILE = /\/(nf_conntrack_count|nf_conntrack_buckets|tcp_mem|udp_mem)$/

/** Every readable setting under /proc/sys/net of a namespace: path and value, in order. */
export async function netSysctls({ namespace }: Site): Promise<ReadonlyMap<string, string>> {
  const script = 'find /proc/sys/net -type f -perm /400 -exec grep -H "" {} + 2>/dev/null || true'
  const lines = (await namespace.exec(['sh', '-c', script])).split('\n')
  const settings = lines.flatMap((line): readonly (readonly [string, string])[] => {
    const [path = '', ...value] = line.split(':')
    return path === '' || VOLATILE.test(path) ? [] : [[path, value.join(':')]]
  })
  return new Map(settings.toSorted(([a], [b]) => (a < b ? -1 : 1)))
}
