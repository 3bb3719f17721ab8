/* A library that is no plugin: it exports something else. */
int not_a_plugin(void);

__attribute__((visibility("default"))) int not_a_plugin(void) { return 0; }
