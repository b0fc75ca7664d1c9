import type { ResourceVersion } from '../../resource/resource.ts'

/**
 * The versions of a resource whose group has two names: that of Kubernetes, which
 * is listed first and has the short names, and ours. Nothing else differs.
 */
export function aliasVersions(group: string, version: string): readonly ResourceVersion[] {
  return [
    { group: `${group}.k8s.io`, version },
    { group: `${group}.orch.io`, version },
  ]
}
