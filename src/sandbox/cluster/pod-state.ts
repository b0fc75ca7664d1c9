/** One pod as the cluster sees it. */
export interface PodState {
  /** `pod-1`. */
  readonly name: string
  readonly ip: string
  readonly labels: Readonly<Record<string, string>>
  /** Its server runs. */
  readonly ready: boolean
  /** Process id of its server while it runs. */
  readonly pid: number | undefined
  readonly restarts: number
}
