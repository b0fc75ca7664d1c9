/** Domains whose labels mean something to the cluster. */
const CLUSTER = /(?:^|\.)(?:kubernetes|k8s|orch)\.io$/u

/** Of those, what the agents of nodes find out by themselves, and what is theirs to say, as in Kubernetes. */
const OF_AGENTS = /(?:^|\.)(?:kubelet|node)\.(?:kubernetes|orch)\.io$/u
const FOUND =
  /^(?:(?:beta\.)?(?:kubernetes|orch)\.io\/(?:arch|hostname|instance-type|os)|(?:topology|failure-domain\.beta)\.(?:kubernetes|orch)\.io\/(?:region|zone))$/u

/**
 * Whether a label of a Node is for who administers the cluster alone: it says where Pods may run, or that
 * the node is one of the control plane.
 */
export function isRestrictedLabel(label: string): boolean {
  const slash = label.indexOf('/')
  const domain = label.slice(0, Math.max(0, slash))
  return CLUSTER.test(domain) && !OF_AGENTS.test(domain) && !FOUND.test(label)
}
