import { type Resource, type ServedVersion, servedVersionsOf } from '../resource/resource.ts'

/** An API group with its versions, the preferred one first, and the resources of each. */
export interface ApiGroup {
  /** `apps`; empty for the core group. */
  readonly name: string
  readonly versions: readonly {
    readonly version: string
    readonly servedVersions: readonly ServedVersion[]
  }[]
}

const OWN_GROUP = /(^|\.)orch\.io$/

/**
 * The groups in the order in which clients try them: those of Kubernetes before those of this project, because
 * `kubectl describe` knows only the kinds of the former.
 */
export function apiGroups(resources: readonly Resource[]): readonly ApiGroup[] {
  const servedVersions = Map.groupBy(resources.flatMap(servedVersionsOf), (served) => served.group)
  const groups = [...servedVersions].map(([name, members]) => ({
    name,
    versions: versionsOf(members),
  }))
  const isOwn = ({ name }: ApiGroup): boolean => OWN_GROUP.test(name)
  return [...groups.filter((group) => !isOwn(group)), ...groups.filter(isOwn)]
}

function versionsOf(servedVersions: readonly ServedVersion[]): ApiGroup['versions'] {
  const versions = Map.groupBy(servedVersions, (served) => served.version)
  return [...versions].map(([version, members]) => ({ version, servedVersions: members }))
}
