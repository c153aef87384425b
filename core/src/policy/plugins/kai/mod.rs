//! KAI's plugins, a file each, and the list of all of them.

mod topology;
