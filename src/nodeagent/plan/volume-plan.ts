import type { ClusterResolver, PodDns } from '../../resources/pod-dns.ts'

/** A volume of a Pod: a folder that is made before its containers start. */
export type VolumePlan = EmptyVolume | FilesVolume

/** `emptyDir`. */
export interface EmptyVolume {
  readonly kind: 'empty'
  readonly name: string
  /** `medium: Memory`. */
  readonly isInMemory: boolean
}

/** `projected`, `secret`, `configMap` and `downwardAPI`: files that the node agent writes and keeps up to date. */
export interface FilesVolume {
  readonly kind: 'files'
  readonly name: string
  /** The mode of files without one of their own: 0 to 0o777. */
  readonly defaultMode: number
  readonly sources: readonly FileSource[]
}

/** Where files of a volume come from. Paths are relative and have no `..`. */
export type FileSource = TokenSource | ObjectSource | FieldSource | ResolverSource

/** A token of the Pod's account, bound to the Pod. */
export interface TokenSource {
  readonly kind: 'token'
  readonly path: string
  /** Empty: the audience of the API server. */
  readonly audience: string
  readonly expirationSeconds: number
}

/** Keys of a ConfigMap or Secret. */
export interface ObjectSource {
  readonly kind: 'object'
  readonly resource: ObjectResource
  readonly name: string
  /** Undefined: every key, in a file with its name. */
  readonly items: readonly KeyFile[] | undefined
  readonly isOptional: boolean
}

/** Fields of the Pod. */
export interface FieldSource {
  readonly kind: 'fields'
  readonly items: readonly FieldFile[]
}

/** The file of the resolver: `resolv.conf`. */
export interface ResolverSource {
  readonly kind: 'resolver'
  readonly path: string
  readonly dns: PodDns
  readonly resolver: ClusterResolver
}

/** The resources whose keys become files and variables. */
export type ObjectResource = 'configmaps' | 'secrets'

export interface KeyFile {
  readonly key: string
  readonly path: string
  /** Undefined: that of the volume. */
  readonly mode: number | undefined
}

export interface FieldFile {
  /** `metadata.name`. */
  readonly field: string
  readonly path: string
  /** Undefined: that of the volume. */
  readonly mode: number | undefined
}
