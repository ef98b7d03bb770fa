/**
 * Starts a shell script with mounts of its own, which end with it. This needs root or user namespaces: tests that import
 * this file are left out where there are none.
 */
export const withOwnMounts = ['unshare', '-rm', 'sh', '-c'] as const
