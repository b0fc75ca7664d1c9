/** Paths from the root of the checkout. */
export const DOCKERFILES = {
  daemon: 'docker/Dockerfile',
  kernelTest: 'docker/kernel-test/Dockerfile',
} as const
